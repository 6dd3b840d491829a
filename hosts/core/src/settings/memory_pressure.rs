//! Tells when the machine or the container is short of memory, by the kernel's pressure stall information.
//!
//! It asks how long tasks waited for memory, and not how full the control group is: on any machine that reads files, the page cache fills
//! the group to its limit.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Display, Path, PathBuf},
    time::Duration,
};

use crate::error::Error;

/// What is read of a file at most: the kernel writes two lines.
const FILE_BYTES_MAX: u64 = 4096;

/// Where pressure is read, how much is too much, and how far the budget may be shrunk for it.
#[derive(Clone, Debug)]
pub struct MemoryPressure {
    pressure_file: PathBuf,
    floor_bytes: u64,
    stall_percent: f64,
    poll_interval: Duration,
}

impl MemoryPressure {
    /// Pressure as this file says it: a control group's `memory.pressure` (version 2), or `/proc/pressure/memory`.
    ///
    /// By default it is read each second, some task must have waited for memory 5% of the last ten seconds, and the budget may shrink to 0.
    /// The filters' builder refuses a file that cannot be read, or says something else. When it becomes so later, there is no pressure.
    pub fn in_file(pressure_file: impl Into<PathBuf>) -> Self {
        Self {
            pressure_file: pressure_file.into(),
            floor_bytes: 0,
            stall_percent: 5.0,
            poll_interval: Duration::from_secs(1),
        }
    }

    /// Pressure in the control group of this process, else in the whole machine. `None` if the kernel tells neither.
    pub fn of_this_process() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        nearest(&groups, Path::new("/sys/fs/cgroup"), Path::new("/proc"))
    }

    /// The budget is not shrunk below this.
    pub fn floor_bytes(mut self, floor_bytes: u64) -> Self {
        self.floor_bytes = floor_bytes;
        self
    }

    /// Memory is yielded when some task waited for memory in this share of the last ten seconds, in percent. Above 0 and 100 at most: the
    /// filters' builder checks it.
    pub fn stall_percent(mut self, stall_percent: f64) -> Self {
        self.stall_percent = stall_percent;
        self
    }

    /// How often the file is read: once a millisecond at most.
    pub fn poll_interval(mut self, poll_interval: Duration) -> Self {
        self.poll_interval = poll_interval;
        self
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor_bytes
    }

    pub(crate) fn stall(&self) -> f64 {
        self.stall_percent
    }

    /// Where pressure is read.
    pub(crate) fn source(&self) -> Display<'_> {
        self.pressure_file.display()
    }

    pub(crate) fn interval(&self) -> Duration {
        self.poll_interval
    }

    pub(crate) fn is_high(&self) -> bool {
        self.some_percent().is_ok_and(|percent| percent >= self.stall_percent)
    }

    /// Errors if the file does not tell of pressure now.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.some_percent().map(|_| ()).map_err(|error| Error::Setting {
            name: "memory_pressure",
            got: self.source().to_string(),
            expected: format!("a file that tells memory pressure, as /proc/pressure/memory does: {error}"),
        })
    }

    /// Time that some task waited for memory, as the file says it now.
    fn some_percent(&self) -> io::Result<f64> {
        // A pipe would wait for a writer.
        if !fs::metadata(&self.pressure_file)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut text = String::new();
        File::open(&self.pressure_file)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        some_avg10(&text)
            .ok_or_else(|| io::Error::other("expected a line such as \"some avg10=0.00 avg60=0.00\""))
    }
}

/// The first that tells of: the process's version 2 group, the groups around it, the machine.
fn nearest(groups: &str, mount: &Path, proc: &Path) -> Option<MemoryPressure> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let around = group.map(|group| mount.join(group).ancestors().map(Path::to_owned).collect::<Vec<_>>());
    let in_groups = around.into_iter().flatten().take_while(|folder| folder.starts_with(mount));
    let files = in_groups.map(|folder| folder.join("memory.pressure"));
    let mut all = files.chain([proc.join("pressure/memory")]).map(MemoryPressure::in_file);
    all.find(|pressure| pressure.some_percent().is_ok())
}

/// `some avg10=0.12 avg60=...`
fn some_avg10(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_whitespace().find_map(|field| field.strip_prefix("avg10="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_understood_and_others_are_no_pressure() {
        let words = "some avg10=12.50 avg60=3.10 avg300=0.80 total=123456\nfull avg10=99.00 avg60=1 avg300=0 total=5\n";
        assert_eq!(some_avg10(words), Some(12.5));
        for other in ["", "full avg10=99.00", "some avg60=3", "some avg10=much"] {
            assert_eq!(some_avg10(other), None, "{other}");
        }
        let missing = MemoryPressure::in_file("/nonexistent");
        assert!(!missing.is_high());
        let error = missing.check().unwrap_err().to_string();
        assert!(
            error.starts_with("setting memory_pressure: got /nonexistent, expected a file that"),
            "{error}"
        );
    }

    #[test]
    fn only_the_beginning_of_a_regular_file_is_read() {
        let root = tempfile::tempdir().unwrap();
        let told =
            |file: PathBuf| MemoryPressure::in_file(file).some_percent().map_err(|error| error.to_string());
        assert!(told("/dev/zero".into()).unwrap_err().contains("not a regular file"));
        let file = root.path().join("pressure");
        fs::write(&file, "some avg10=7.5 avg60=0\n".to_owned() + &"0".repeat(1 << 20)).unwrap();
        assert_eq!(told(file.clone()), Ok(7.5));
        fs::write(&file, "\n".repeat(1 << 20) + "some avg10=7.5 avg60=0\n").unwrap();
        assert!(told(file).unwrap_err().contains("expected a line"));
    }

    #[test]
    fn the_nearest_group_that_tells_is_asked() {
        let root = tempfile::tempdir().unwrap();
        let (mount, proc) = (root.path().join("cgroup"), root.path().join("proc"));
        fs::create_dir_all(mount.join("outer/inner")).unwrap();
        fs::create_dir_all(proc.join("pressure")).unwrap();
        let groups = "4:memory:/old\n0::/outer/inner\n";
        let found = || nearest(groups, &mount, &proc).map(|pressure| pressure.pressure_file);
        fs::write(mount.join("outer/inner/memory.pressure"), "").unwrap();
        assert_eq!(found(), None, "an empty file tells nothing");
        for file in [
            proc.join("pressure/memory"),
            mount.join("outer/memory.pressure"),
            mount.join("outer/inner/memory.pressure"),
        ] {
            fs::write(&file, "some avg10=0.00 avg60=0.00\n").unwrap();
            assert_eq!(found(), Some(file));
        }
    }
}
