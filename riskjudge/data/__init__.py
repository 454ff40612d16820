"""The closed vocabularies, and the validated table of verdicts that everything starts from."""
