/* The directories that a load program makes, and removes whatever happens. */
#ifndef LOAD_FOLDERS_H
#define LOAD_FOLDERS_H

#include "load.h"

/* Make the ranks' common directory (rank 0) and the rank's own in it. Collective. Returns 0 with errno on failure, on
   all ranks alike. */
int load_folders_make(struct load_run *run);
/* Remove the rank's own directory with the files in it, if there is one. */
void load_folders_remove_own(const struct load_run *run);
/* Remove the common one and the files in it, when all ranks have removed theirs (rank 0). */
void load_folders_remove_common(const struct load_run *run);

#endif
