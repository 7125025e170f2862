"""Collects no test of the programs that only type checkers read."""

collect_ignore = ["mistakes.py", "right.py", "spark_job.py"]
