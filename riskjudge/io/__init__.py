"""Files: opening, replacing, appending; tables in and out."""
