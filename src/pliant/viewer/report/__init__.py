"""Plots, tables and the report as one HTML file."""
