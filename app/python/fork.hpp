/// Forks, where another process goes on without the threads and their locks, and the end of the process.
#pragma once

namespace gpuhist::python {

/// Work that a fork waits for: held by each call that uses threads or shared memory of ours.
class Work {
  public:
    Work();
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
};

/// Work that goes on by itself, and halts for a fork.
class Halting {
  public:
    virtual ~Halting() = default;
    /// Asks for a halt. Returns at once.
    virtual void halt() = 0;
    /// Waits until it has halted, or not much longer than a file may take.
    virtual void wait_for_halt() = 0;
    virtual void go_on() = 0;
};

/// Place in the list of what halts, from before the work begins until it has ended.
class Listed {
  public:
    explicit Listed(Halting& work);
    ~Listed();
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;

  private:
    Halting& work_;
};

/// Brings all work to a halt, and lets go of the threads, which come again when they are wanted. Where work takes
/// longer than ten seconds the fork is not kept waiting, and may find nothing that works.
void before_fork();
/// Goes on. `child`: in the new process, whose work is none of the old one's.
void after_fork(bool child);

/// Brings all work to a halt for good, or waits for it not much longer than ten seconds: static objects, which threads
/// use, are about to be destroyed.
void before_end() noexcept;

}  // namespace gpuhist::python
