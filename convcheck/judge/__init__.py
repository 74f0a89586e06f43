"""What an answer is worth: answers with what was expected, tallied, and made into results."""
