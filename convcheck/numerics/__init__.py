"""What a number is: formats, exact numbers, rounding. numpy integers and Fractions only."""
