"""Ask and judge: plan, workers, verdicts."""
