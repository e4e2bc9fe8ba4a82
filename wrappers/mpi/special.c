/*
 * The MPI functions that no row of the table can say: start, end and abort, sessions too.
 *
 * Each body is called by the generated wrappers with the definition to forward to. MPI_Init and MPI_Init_thread are
 * also exported under their own names, so that an MPI library that is loaded after us is seen at its start at the
 * latest.
 */
#include "mpi_special.h"

#include "attach.h"
#include "init.h"
#include "resolve.h"
#include "segment.h"

#define NO_MPI 16 /* MPI_ERR_OTHER of most implementations: never MPI_SUCCESS */

static int leave_init(struct xw_call call, unsigned function, const void *site, int result)
{
    if (call.outermost)
        xw_segment_site(function, site);
    xw_leave(call, function, XW_G_MPI_OTHER, 0, 0);
    if (call.outermost && result == 0)
        xw_mpi_initialized();
    return result;
}

int xw_mpi_body_MPI_Init(xw_mpi_fn_MPI_Init *real, const void *site, xw_word argc, xw_word argv)
{
    struct xw_call call = xw_enter_mpi(XW_F_MPI_Init, XW_G_MPI_OTHER);
    return leave_init(call, XW_F_MPI_Init, site, real(argc, argv));
}

int xw_mpi_body_MPI_Init_thread(xw_mpi_fn_MPI_Init_thread *real, const void *site, xw_word argc, xw_word argv,
                                xw_word required, xw_word provided)
{
    struct xw_call call = xw_enter_mpi(XW_F_MPI_Init_thread, XW_G_MPI_OTHER);
    return leave_init(call, XW_F_MPI_Init_thread, site, real(argc, argv, required, provided));
}

int xw_mpi_body_MPI_Finalize(xw_mpi_fn_MPI_Finalize *real, const void *site)
{
    struct xw_call call = xw_enter_mpi(XW_F_MPI_Finalize, XW_G_MPI_OTHER);
    if (call.outermost) {
        xw_segment_site(XW_F_MPI_Finalize, site);
        xw_mpi_finalizing(XW_F_MPI_Finalize);
    }
    int result = real();
    xw_leave(call, XW_F_MPI_Finalize, XW_G_MPI_OTHER, 0, 0);
    return result;
}

int xw_mpi_body_MPI_Session_init(xw_mpi_fn_MPI_Session_init *real, const void *site, xw_word info, xw_word errhandler,
                                 xw_word session)
{
    struct xw_call call = xw_enter_mpi(XW_F_MPI_Session_init, XW_G_MPI_OTHER);
    int result = real(info, errhandler, session);
    if (call.outermost)
        xw_segment_site(XW_F_MPI_Session_init, site);
    xw_leave(call, XW_F_MPI_Session_init, XW_G_MPI_OTHER, 0, 0);
    if (call.outermost && result == 0)
        xw_mpi_session_began();
    return result;
}

int xw_mpi_body_MPI_Session_finalize(xw_mpi_fn_MPI_Session_finalize *real, const void *site, xw_word session)
{
    struct xw_call call = xw_enter_mpi(XW_F_MPI_Session_finalize, XW_G_MPI_OTHER);
    if (call.outermost) {
        xw_segment_site(XW_F_MPI_Session_finalize, site);
        xw_mpi_session_ending(XW_F_MPI_Session_finalize);
    }
    int result = real(session);
    xw_leave(call, XW_F_MPI_Session_finalize, XW_G_MPI_OTHER, 0, 0);
    return result;
}

/* Counted before it runs: it does not come back. */
int xw_mpi_body_MPI_Abort(xw_mpi_fn_MPI_Abort *real, const void *site, xw_word comm, xw_word errorcode)
{
    struct xw_call call = xw_enter_mpi(XW_F_MPI_Abort, XW_G_MPI_OTHER);
    if (call.outermost)
        xw_segment_site(XW_F_MPI_Abort, site);
    xw_leave(call, XW_F_MPI_Abort, XW_G_MPI_OTHER, 0, 0);
    return real(comm, errorcode);
}

/* What an exported function forwards to: the definition behind us, or the MPI library's own if that was loaded before
 * us. */
static void *behind_us(const char *name)
{
    void *real = xw_mpi_resolve_one(name, XW_MPI_NEXT);
    return real ? real : xw_mpi_resolve_one(name, XW_MPI_LIBRARY);
}

XW_EXPORT int MPI_Init(xw_word argc, xw_word argv);
XW_EXPORT int MPI_Init_thread(xw_word argc, xw_word argv, xw_word required, xw_word provided);

int MPI_Init(xw_word argc, xw_word argv)
{
    xw_mpi_fn_MPI_Init *real = behind_us("MPI_Init");
    return real ? xw_mpi_body_MPI_Init(real, __builtin_return_address(0), argc, argv) : NO_MPI;
}

int MPI_Init_thread(xw_word argc, xw_word argv, xw_word required, xw_word provided)
{
    xw_mpi_fn_MPI_Init_thread *real = behind_us("MPI_Init_thread");
    return real ? xw_mpi_body_MPI_Init_thread(real, __builtin_return_address(0), argc, argv, required, provided)
                : NO_MPI;
}
