"""Pictures drawn without a window."""
