#!/bin/sh
# job_event.sh [DIRECTORY]   Tell the collector that a job started or ended: one JSON file in DIRECTORY.
#
# Slurm calls it without arguments, so name a script of one line in slurm.conf, both times the same:
#   exec /usr/libexec/crosswind/job_event.sh /var/spool/crosswind-events
# as PrologSlurmctld (job starts: variables SLURM_JOB_*) and, with JobCompType=jobcomp/script, as JobCompLoc (job ended:
# JOBID, JOBSTATE, ...). The directory belongs to SlurmUser and lies on a local disk. A job waits for its
# PrologSlurmctld and does not start if that fails: so this does three quick things and always succeeds.
directory=${1:-/var/spool/crosswind-events}
PATH=/usr/bin:/bin
LC_ALL=C
export PATH LC_ALL
exec 2>/dev/null
umask 077
now=$(date +%s%N)
unfinished=$directory/.$now.$$

# Values are written as they are, but for what JSON does not allow in a string. Job names are of any bytes.
write_event() {
  awk -v now="$now" '
    function quoted(text) {
      gsub(/\\/, "\\u005c", text)
      gsub(/"/, "\\u0022", text)
      gsub(/[\001-\037\177]/, " ", text)
      return "\"" text "\""
    }
    BEGIN {
      ended = "JOBID" in ENVIRON
      names = ended \
        ? "JOBID JOBSTATE UID USERNAME ACCOUNT PARTITION JOBNAME SUBMIT START END NODES PROCS EXITCODE ARRAYJOBID ARRAYTASKID HETJOBID" \
        : "SLURM_JOB_ID SLURM_JOB_RESTART_COUNT SLURM_JOB_UID SLURM_JOB_USER SLURM_JOB_ACCOUNT SLURM_JOB_PARTITION SLURM_JOB_NAME SLURM_JOB_NODELIST SLURM_JOB_CPUS_PER_NODE SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID SLURM_HET_JOB_ID"
      printf "{\"event\": \"%s\", \"at_ns\": %s", ended ? "end" : "start", now
      n = split(names, name, " ")
      for (i = 1; i <= n; i++)
        if (name[i] in ENVIRON)
          printf ", \"%s\": %s", name[i], quoted(ENVIRON[name[i]])
      print "}"
    }'
}

if write_event >"$unfinished"; then
  mv "$unfinished" "$directory/$now.$$.json"
else
  rm -f "$unfinished"
fi
exit 0
