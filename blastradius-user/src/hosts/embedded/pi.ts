// Written by `blastradius install`. %PROGRAM
