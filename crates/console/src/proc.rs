//! Values from Linux's `/proc`.

use std::fs;

/// Memory of the machine in bytes. `None` without `/proc`.
pub fn memory_bytes() -> Option<u64> {
    let text = field("/proc/meminfo", "MemTotal")?;
    let kib: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// The value of the first line `name : value` of a file.
pub fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}
