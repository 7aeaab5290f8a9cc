"""What is drawn: surfaces, colours, markers, for the page, the pictures and the film."""
