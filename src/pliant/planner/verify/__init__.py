"""An independent check of a finished plan: everything it claims is computed again by other means."""
