#![allow(missing_docs, missing_debug_implementations, unreachable_pub, unused, clippy::all, clippy::pedantic)]
use std::sync::atomic::*; use std::time::*;
#[repr(align(128))] struct L(AtomicU64);
static T: [L;8]=[const{L(AtomicU64::new(0))};8]; static N:AtomicUsize=AtomicUsize::new(0);
thread_local!{static I:usize=N.fetch_add(1,Ordering::Relaxed)%8;}
fn one(){I.with(|i|T[*i].0.fetch_add(1,Ordering::Relaxed));}
fn sum()->u64{T.iter().map(|l|l.0.load(Ordering::Relaxed)).sum()}
fn run<B:parkade::Backend>(kind:&str,n:u64){
 let w:usize=std::env::var("W").ok().and_then(|w|w.parse().ok()).unwrap_or(2);
 let rt:&'static parkade::RuntimeOn<B>=Box::leak(Box::new(parkade::RuntimeOn::<B>::builder().tag(parkade::Tag::new("b").workers(w)).build().unwrap()));
 for _ in 0..1000{rt.spawn_detached(one).unwrap();} let mut done=1000; while sum()<done{std::thread::sleep(Duration::from_micros(50))}
 for round in 0..5{
 let m=rt.metrics(); let t=Instant::now();
 match kind{"outside"=>for _ in 0..n{rt.spawn_detached(one).unwrap();},
 _=>rt.spawn_detached(move||for _ in 0..n{rt.spawn_detached(one).unwrap();}).unwrap()}
 let s=t.elapsed(); done+=n; while sum()<done{std::thread::sleep(Duration::from_micros(50))}
 let e=t.elapsed(); let m2=rt.metrics();
 println!("{round} {kind} {:.0} ns/task submitted {:.0}",e.as_nanos() as f64/n as f64,s.as_nanos() as f64/n as f64);
 println!("   {:?}\n   {:?}",m.total,m2.total);
 }
}
fn main(){ if std::env::args().nth(1).as_deref()==Some("join"){ return joins::<parkade::backend::Linux>() }let a:Vec<String>=std::env::args().collect(); let n=a[3].parse().unwrap();
 if a[1]=="linux"{run::<parkade::backend::Linux>(&a[2],n)}else{run::<parkade::backend::Std>(&a[2],n)}}
fn fib(n:u32)->u64{ if n<2{return n as u64;} let (a,b)=parkade::join(||fib(n-1),||fib(n-2)); a+b }
#[inline(never)] fn sfib(n:u32)->u64{ if n<2{return n as u64;} sfib(n-1)+sfib(n-2) }
fn cpu()->f64{ let s=std::fs::read_to_string("/proc/self/schedstat").unwrap(); 0.0 }
pub fn joins<B:parkade::Backend>(){
 let w:usize=std::env::var("W").ok().and_then(|w|w.parse().ok()).unwrap_or(2);
 let rt:&'static parkade::RuntimeOn<B>=Box::leak(Box::new(parkade::RuntimeOn::<B>::builder().tag(parkade::Tag::new("b").workers(w)).build().unwrap()));
 for _ in 0..5{ let t=Instant::now(); let x=std::hint::black_box(sfib(std::hint::black_box(30))); let s=t.elapsed();
 let t=Instant::now(); let (y,())=rt.join(||fib(std::hint::black_box(30)),||()); let p=t.elapsed(); assert_eq!(x,y);
 println!("serial {:?} join {:?} ratio {:.2} ns/join {:.2}",s,p,p.as_secs_f64()/s.as_secs_f64(),p.as_nanos() as f64/1346268.0);}
}
