"""The phases of a run, one strategy each; the controller goes from one to the next.   (theory 9)"""
