//! Pseudo file systems: their files are views of the kernel, and reading some of them never ends or has effects.

use std::collections::HashMap;
use std::path::Path;

use parking_lot::Mutex;
use rustix::fs::statfs;

/// Numbers of `linux/magic.h`.
const PSEUDO: [(u64, &str); 23] = [
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x1cd1, "devpts"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x7472_6163, "tracefs"),
    (0x6462_6720, "debugfs"),
    (0x7363_6673, "securityfs"),
    (0x6265_6570, "configfs"),
    (0x6165_676c, "pstore"),
    (0xcafe_4a11, "bpf"),
    (0xde5e_81e4, "efivarfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x5a3c_69f0, "apparmorfs"),
    (0x1980_0202, "mqueue"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6e73_6673, "nsfs"),
    (0x6759_6969, "rpc_pipefs"),
    (0x6e66_7364, "nfsd"),
    (0x6573_5543, "fusectl"),
    (0x6c6f_6f70, "binder"),
    (0x0765_5821, "resctrl"),
];

/// The pseudo file system that `path` is on; `None` if it is on one that stores files.
pub(super) fn name_of(path: &Path) -> Option<&'static str> {
    let kind = statfs(path).ok()?.f_type as u64;
    // A C long on some machines, and the numbers have 32 bits.
    PSEUDO.iter().find(|(number, _)| *number == kind & 0xffff_ffff).map(|(_, name)| *name)
}

/// [`name_of`] for many folders, with one system call per device.
#[derive(Default)]
pub(super) struct PseudoFileSystems {
    by_device: Mutex<HashMap<u64, Option<&'static str>>>,
}

impl PseudoFileSystems {
    pub(super) fn name_of(&self, folder: &Path, device: u64) -> Option<&'static str> {
        let mut by_device = self.by_device.lock();
        *by_device.entry(device).or_insert_with(|| name_of(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_of_the_kernel_are_told_from_files() {
        assert_eq!(name_of("/proc/self".as_ref()), Some("proc"));
        assert_eq!(name_of(&std::env::temp_dir()), None);
        assert_eq!(name_of("/no/such/folder".as_ref()), None);
    }
}
