/*
 * The digest at MPI_Finalize: bring the ranks' numbers to rank 0 and print them there.
 *
 * Other ranks may lack this library, be late or dead. So nothing blocks: a private communicator is duplicated and two
 * small reductions are made with nonblocking calls that are tested until a deadline. What does not come is given up,
 * rank 0 then prints its own numbers and says so. The profile does not depend on any of this.
 */
#ifndef XW_MPI_DIGEST_REDUCE_H
#define XW_MPI_DIGEST_REDUCE_H

#include "os.h"

/* After MPI_Init: remember what stderr is, and how many ranks the launcher put on this node. */
void xw_digest_prepare(void) XW_HIDDEN;
/* In MPI_Finalize, before it really runs. */
void xw_digest_give(void) XW_HIDDEN;

#endif
