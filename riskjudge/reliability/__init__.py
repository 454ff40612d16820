"""Judges under stress: what perturbations change, what bias does to scores, when to escalate."""
