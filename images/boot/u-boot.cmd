# Chooses a slot and counts its starts. The boot state is one sector in U-Boot's own form, twice,
# in the partition at 1 MiB; images/slot/src/boot_state.rs is the other reader and writer.
# What is between @ is filled in by the builder.
@DISK@ dev 0
setenv state @STATE@
setenv all "BOOT_ORDER BOOT_A_LEFT BOOT_B_LEFT FROND_TRIAL FROND_NEEDS FROND_FAILED FROND_FLOOR FROND_MADE_STATE FROND_MADE_DATA"
# What holds when neither copy is whole.
setenv BOOT_ORDER "A B"
setenv BOOT_A_LEFT 9
setenv BOOT_B_LEFT 3
@DISK@ read ${state} 0x800 1
if env import -c ${state} 0x200 ${all}; then
  echo "frond: boot state 1"
else
  @DISK@ read ${state} 0x808 1
  if env import -c ${state} 0x200 ${all}; then
    echo "frond: boot state 2"
  fi
fi
# One less than each; nothing for 0. Not every U-Boot can subtract.
setenv a_next
setenv b_next
setenv before
for n in 0 1 2 3 4 5 6 7 8 9; do
  if test "${BOOT_A_LEFT}" = "${n}"; then
    setenv a_next ${before}
  fi
  if test "${BOOT_B_LEFT}" = "${n}"; then
    setenv b_next ${before}
  fi
  setenv before ${n}
done
setenv slot
for s in "${BOOT_ORDER}"; do
  if test -z "${slot}"; then
    if test "${s}" = "A"; then
      if test -n "${a_next}"; then
        setenv BOOT_A_LEFT ${a_next}
        setenv slot A
        setenv part 2
      fi
    elif test "${s}" = "B"; then
      if test -n "${b_next}"; then
        setenv BOOT_B_LEFT ${b_next}
        setenv slot B
        setenv part 3
      fi
    fi
  fi
done
if test -z "${slot}"; then
  echo "frond: no starts are left, both slots get some"
  setenv BOOT_A_LEFT 3
  setenv BOOT_B_LEFT 3
fi
env export -c -s 0x200 ${state} ${all}
@DISK@ write ${state} 0x800 1
@DISK@ write ${state} 0x808 1
if test -z "${slot}"; then
  reset
fi
echo "frond: slot ${slot}, A has ${BOOT_A_LEFT} starts left, B ${BOOT_B_LEFT}"
if load @DISK@ 0:${part} ${scriptaddr} slot.env; then
  env import -t ${scriptaddr} ${filesize} args
  setenv bootargs "${args} frond.slot=${slot}"
  load @DISK@ 0:${part} @KERNEL@ Image
  setenv kernel_size ${filesize}
  load @DISK@ 0:${part} @INITIAL@ initrd
  @GO@
fi
echo "frond: slot ${slot} does not start"
reset
