"""The local cloud: an AWS emulator, the real CDK app deployed into it, and replication between its regions.

``memolith dev up`` starts it, ``memolith dev status`` shows it, ``memolith dev down`` ends it. Three things run: the
emulator (MiniStack, one process, a child per warm function), the replicator (one process), and, while ``up`` works, the
CDK command line. Everything they write lies in ``.memolith/``; everything they listen on is 127.0.0.1.

| module | what |
|---|---|
| `layout` | where files are |
| `environment` | what a child process gets to know of this machine |
| `processes` | start, record and end a process, so that nothing is left running |
| `emulator`, `patches` | MiniStack, and the few things corrected in it |
| `deployment` | ``cdk bootstrap``, ``cdk synth``, ``cdk deploy`` |
| `drift` | what the templates asked for and the emulator does not have |
| `devfile` | ``.memolith/dev.json``, what clients read |
| `replication` | copies objects between regions as S3 would, with settings for how badly |
| `lifecycle` | up, status, down |
"""
