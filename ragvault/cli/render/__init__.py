"""Results of the service as text for a person, on stdout; notices and progress on stderr.

terminal              the streams: encoding, colour, width, links; JSON on stdout
layout                text in columns; counts, sizes, ages
progress              a line or a bar on stderr while something takes long
places                a place in a note, with its link
ask                   an answer as it comes, its citations as numbers
debug                 every candidate with its scores
index, status         what was indexed; what there is, and each part tried
history               past answers, a source in its note as it is today, how often there was one
eval                  the tables of an evaluation
"""
