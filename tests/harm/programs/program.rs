// Threads, channels, files, a child process, a caught panic.
use std::{fs, io::Write, process, sync::mpsc, thread};

fn main() {
    let (sender, receiver) = mpsc::channel();
    for i in 0..20usize {
        let sender = sender.clone();
        thread::spawn(move || {
            let name = format!("rust-{}", i);
            let mut file = fs::File::create(&name).unwrap();
            for _ in 0..100 {
                file.write_all(&vec![b'x'; i]).unwrap();
            }
            sender.send(fs::read(&name).unwrap().len()).unwrap();
        });
    }
    drop(sender);
    let total: usize = receiver.iter().sum();
    let child = process::Command::new("sh").args(["-c", "cat rust-3 | wc -c; exit 4"]).output().unwrap();
    let panicked = thread::spawn(|| panic!("on purpose")).join().is_err();
    let text = String::from_utf8_lossy(&child.stdout);
    println!("{} {} {:?} {}", total, text.trim(), child.status.code(), panicked);
    process::exit(6);
}
