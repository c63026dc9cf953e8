//! Topologies of machines that are not here: trees of files.

use std::fs;

use tempfile::TempDir;

use super::*;

/// A machine: the CPUs that the process may use, and what the kernel says of each CPU.
struct Machine(TempDir);

impl Machine {
    fn new(allowed: &str) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.write(
            STATUS,
            &format!("Name:\tx\nCpus_allowed_list:\t{allowed}\nx:\t1\n"),
        );
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn cpu(&self, cpu: usize, package: &str, core: &str, siblings: &str) {
        let file = |name: &str| format!("{CPUS}/cpu{cpu}/topology/{name}");
        self.write(&file("physical_package_id"), &format!("{package}\n"));
        self.write(&file("core_id"), &format!("{core}\n"));
        self.write(&file("thread_siblings_list"), &format!("{siblings}\n"));
    }

    /// Two packages of two cores of two threads each, the threads of a core being 4 apart.
    fn with_eight_cpus(allowed: &str) -> Self {
        let machine = Self::new(allowed);
        for cpu in 0..8 {
            let (first, second) = (cpu % 4, cpu % 4 + 4);
            let (package, core) = (first % 2, first / 2);
            let siblings = format!("{first},{second}");
            machine.cpu(cpu, &package.to_string(), &core.to_string(), &siblings);
        }
        machine
    }

    fn topology(&self) -> Result<Topology, TopologyError> {
        Topology::below(self.0.path())
    }

    fn list(&self) -> String {
        self.topology().unwrap().cpus_physical_first().to_string()
    }

    fn error(&self) -> String {
        let error = self.topology().unwrap_err().to_string();
        error.replace(self.0.path().to_str().unwrap(), "")
    }
}

#[test]
fn each_core_comes_before_the_second_thread_of_any() {
    let machine = Machine::with_eight_cpus("0-7");
    let topology = machine.topology().unwrap();
    let cores: Vec<_> = topology
        .cores()
        .iter()
        .map(|core| {
            (
                core.package.unwrap(),
                core.id.unwrap(),
                core.cpus.as_slice(),
            )
        })
        .collect();
    let expected: [(u32, u32, &[usize]); 4] = [
        (0, 0, &[0, 4]),
        (0, 1, &[2, 6]),
        (1, 0, &[1, 5]),
        (1, 1, &[3, 7]),
    ];
    assert_eq!(cores, expected);
    assert_eq!(machine.list(), "0,2,1,3-4,6,5,7");
}

#[test]
fn only_what_the_process_may_use_is_there() {
    let machine = Machine::with_eight_cpus("1,5-6");
    let topology = machine.topology().unwrap();
    let cpus: Vec<_> = topology.cores().iter().map(|core| &core.cpus[..]).collect();
    assert_eq!(cpus, [&[6][..], &[1, 5]]);
    assert_eq!(machine.list(), "6,1,5");
}

#[test]
fn a_cpu_that_is_offline_is_left_out() {
    let machine = Machine::new("0-3");
    machine.cpu(0, "0", "0", "0-1");
    machine.cpu(1, "0", "0", "0-1");
    machine.cpu(3, "0", "1", "3");
    assert_eq!(machine.list(), "0,3,1");
}

#[test]
fn what_the_kernel_does_not_know_is_none() {
    let machine = Machine::new("0");
    machine.cpu(0, "-1", "65535", "0");
    let core = machine.topology().unwrap().cores()[0].clone();
    assert_eq!((core.package, core.id), (None, Some(65535)));
}

#[test]
fn each_cpu_is_in_one_core_whatever_the_files_say() {
    let machine = Machine::new("0-2");
    machine.cpu(0, "0", "0", "1");
    machine.cpu(1, "0", "0", "1-2");
    machine.cpu(2, "0", "0", "0-2");
    let mut cpus = machine
        .topology()
        .unwrap()
        .cpus_physical_first()
        .cpus()
        .to_vec();
    cpus.sort_unstable();
    assert_eq!(cpus, [0, 1, 2]);
}

#[test]
fn a_system_without_the_files_is_not_supported() {
    let bare = Machine(tempfile::tempdir().unwrap());
    let says = "this system does not tell which CPUs share a core: ";
    assert_eq!(
        bare.error(),
        format!("{says}/proc/self/status is not there")
    );
    let missing = format!("{says}/sys/devices/system/cpu/cpu*/topology is not there");
    assert_eq!(Machine::new("0-1").error(), missing);
}

#[test]
fn files_that_say_something_else_are_named() {
    let machine = Machine::new("3-1");
    assert_eq!(machine.error(), "/proc/self/status has no list of CPUs");
    let machine = Machine::new("0");
    machine.cpu(0, "0", "0", "0-4294967295");
    let file = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
    assert_eq!(machine.error(), format!("{file} has no list of CPUs"));
    machine.cpu(0, "0", "0", &"0,".repeat(1 << 19));
    assert_eq!(
        machine.error(),
        format!("{file} is longer than 1048576 bytes")
    );
}
