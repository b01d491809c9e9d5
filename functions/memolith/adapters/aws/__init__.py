"""Every port on AWS. boto3 stands here and nowhere else."""
