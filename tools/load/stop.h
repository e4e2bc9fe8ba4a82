/* Ending in good order when a signal asks for it, and in any case within bounds. */
#ifndef LOAD_STOP_H
#define LOAD_STOP_H

/* See which signals whoever started the program has ignored. To be called before MPI_Init, which may change it. */
void load_stop_begin(void);
/* From now on SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGXCPU are remembered, unless they were ignored at the start.
   (Open MPI's mpirun passes SIGUSR1 on; after the first three it kills the ranks a second later.) The process gives up,
   with a line on stderr, some minutes after `seconds`, or a minute after a signal: its peers may be gone, and MPI would
   wait for them forever. */
void load_stop_watch(double seconds);
/* A signal has come. */
int load_stop_asked(void);
/* Wait until all ranks are here, without taking a processor. Collective. */
void load_stop_meet(void);

#endif
