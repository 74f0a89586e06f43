"""What backends do where a standard leaves it free, told as laws."""
