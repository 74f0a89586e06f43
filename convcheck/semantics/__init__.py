"""What the rules mean: case and outcome words as functions, and the evaluator."""
