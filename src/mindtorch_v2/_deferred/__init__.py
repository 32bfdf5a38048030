"""Calls that are put off while a program is traced, and made when their values are asked for."""
