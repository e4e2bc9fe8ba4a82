#!/bin/bash
# prepare.sh OUTPUT   Make GROMACS's run input of a box of water, OUTPUT (a .tpr file), from topol.top and md.mdp; 10 s.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
output=$(realpath "${1:?usage: prepare.sh OUTPUT}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/* "$work"
cd "$work"
export GMX_MAXBACKUP=-1 # an older OUTPUT is replaced
# Molecules that lie too near to each other at first are moved apart.
sed -e 's/^integrator .*/integrator = steep/' -e 's/^nsteps .*/nsteps = 200/' -e '/^nst.out\|^gen-vel/d' md.mdp >relax.mdp
{
  gmx -quiet solvate -cs spc216 -box 3 3 3 -p topol.top -o water.gro
  gmx -quiet grompp -f relax.mdp -c water.gro -p topol.top -o relax.tpr -maxwarn 1
  gmx -quiet mdrun -deffnm relax -ntmpi 1 -ntomp 1
  gmx -quiet grompp -f md.mdp -c relax.gro -p topol.top -o "$output"
} >prepare.log 2>&1 || {
  tail -n 20 prepare.log >&2
  exit 1
}
