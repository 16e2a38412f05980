// What a forked child must put right. Only the thread that forked lives on there: a lock that
// another one held would stay locked for ever.
#pragma once

namespace fastrecall {

// Anything with a lock of its own. Before a child's first instruction after `fork` returns, every
// one that lives is told, while no other thread can run.
class ForkAware {
  public:
    ForkAware(const ForkAware&) = delete;
    ForkAware& operator=(const ForkAware&) = delete;

  protected:
    ForkAware();
    ~ForkAware();

  private:
    friend class ForkRegistry;
    // Makes locks new and lets go of what another thread may have been changing.
    virtual void in_child() noexcept = 0;

    ForkAware* before_ = nullptr;
    ForkAware* after_ = nullptr;
};

}  // namespace fastrecall
