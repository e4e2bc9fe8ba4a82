/* What the core needs of init.c and heartbeat.c when it is tested without being preloaded. */
#include "heartbeat.h"
#include "init.h"
#include "process.h"

int xw_options_ready(void) { return 1; }
void xw_heartbeat_start(void) {}
int xw_heartbeat_runs(void) { return 0; }
void xw_heartbeat_wake(void) {}
