"""Language models behind `ports.model`: three services, a stand-in without a model, and recorded answers.

Every adapter asks once and says how it failed. What is common to all stands around them: `retried` asks again,
`metered` checks the budget and prices the usage, `validated` holds an answer to its form.
"""
