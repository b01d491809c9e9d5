"""What the mesh stacks run while they deploy. Standard library, and boto3 as Lambda's runtime brings it."""
