"""Work on stores that no caller waits for: who does it, how far it came, and what each run did.

Promise: of two workers that claim the same work at once, one has it; a worker that was away too long finds that it has
lost it before anything that it says counts; and no watermark goes back. All of it is in objects at the store's home,
so that it replicates, and goes on after a move.

Read first: `job_log`.
"""
