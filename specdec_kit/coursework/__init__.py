"""Release of the lessons as coursework, and its grading."""
