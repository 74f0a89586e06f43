"""What an answer is worth: answers with what was expected -> tallies, results, and their digests."""
