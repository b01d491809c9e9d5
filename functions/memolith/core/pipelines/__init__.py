"""Pure parts of the pipelines that make memories of sessions: what a model is handed, what is decided without one."""
