"""The page in the browser: tabs, panels, playing, editing a task or a hand."""
