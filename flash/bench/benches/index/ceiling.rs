//! A memory ceiling enforced by the kernel, page cache included: a memory control group. `scripts/benchmark-index` prepares it. The
//! process joins it before it makes its store.

use std::path::PathBuf;

fn group() -> Option<PathBuf> {
    std::env::var_os("SPRINGBLOOM_MEMORY_CGROUP").map(PathBuf::from)
}

fn number(names: [&str; 2]) -> Option<u64> {
    let text = names.iter().find_map(|name| std::fs::read_to_string(group()?.join(name)).ok())?;
    text.trim().parse().ok()
}

/// Joins the group and returns its limit in bytes. Prints a line and returns `None` if there is no group.
pub(crate) fn join() -> Option<u64> {
    let limit = number(["memory.limit_in_bytes", "memory.max"]);
    match (group(), limit) {
        (Some(group), Some(_)) => {
            let joined = std::fs::write(group.join("cgroup.procs"), std::process::id().to_string());
            joined.expect("joining the memory control group");
        }
        _ => println!("no memory ceiling: SPRINGBLOOM_MEMORY_CGROUP names no group with a limit"),
    }
    limit
}

/// Bytes that the group uses now.
pub(crate) fn used() -> Option<u64> {
    number(["memory.usage_in_bytes", "memory.current"])
}
