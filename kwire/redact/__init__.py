"""Secrets are masked in what is displayed (`masking`) and removed from what is rewritten (`redactor`)."""
