#!/bin/sh
# A directory measured by a Slurm array, one part each, and one result made of the parts:
#
#     array=$(sbatch --parsable --array=1-100 --gres=gpu:1 slurm.sh /data/images /data/results 100)
#     sbatch --dependency=afterok:"$array" slurm.sh /data/images /data/results 100
#
# Parts that were lost are measured again by the first line with, say, --array=7,31. The second job's exit code is that
# of a single run: 1 where some images could not be read, which errors.csv then names.
#SBATCH --job-name=gpuhist
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --requeue
set -u
images=$1 results=$2 parts=$3

if [ -n "${SLURM_ARRAY_TASK_ID-}" ]; then
    gpuhist "$images" -o "$results/parts" --shard "$SLURM_ARRAY_TASK_ID/$parts" --resume --quiet
    code=$?
    [ "$code" -ne 1 ] || code=0 # images that cannot be read are no reason to measure the part again
    exit "$code"
fi
exec gpuhist merge -o "$results" "$results/parts"
