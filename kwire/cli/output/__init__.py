"""What commands write: items as text or JSON, files, captures."""
