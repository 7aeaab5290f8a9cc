"""Constants of nature, each in one place."""

GRAVITY = 9.80665
"""Standard acceleration of free fall [m/s^2] (CGPM 1901)."""
