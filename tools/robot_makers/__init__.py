"""Makers of the shipped robots: link surfaces from parameters, trees from published dimensions."""
