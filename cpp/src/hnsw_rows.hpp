// What an HNSW index keeps of each vector, by slot.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fastrecall/aligned.hpp"
#include "fastrecall/exact.hpp"
#include "fastrecall/kernels.hpp"
#include "hnsw_buffer.hpp"
#include "hnsw_graph.hpp"

namespace fastrecall {

struct HnswRows {
    HnswRows(std::size_t dim_of_rows, Storage storage_of_rows)
        : dim(dim_of_rows), padded(round_up(dim_of_rows, kRowStep)), storage(storage_of_rows) {
        codes.width = round_up(dim_of_rows, kCodeRowStep);
    }

    std::size_t dim;
    std::size_t padded;  // values of a stored row
    Storage storage;
    HnswCodes codes;
    HnswBuffer<float> singles;         // unit vectors, for Storage::float32
    HnswBuffer<std::uint16_t> halves;  // the same in half precision, for Storage::float16
    HnswBuffer<std::int32_t> ids;
    HnswBuffer<std::uint8_t> dead;  // 1: deleted

    std::size_t size() const { return ids.size(); }
    void resize(std::size_t size);
    // Stores a unit vector of `padded` values, padding zero.
    void store(std::size_t slot, const float* row);
    // The vector that scores are computed from; `scratch` holds `padded` values.
    const float* row(std::int32_t slot, float* scratch) const;
    void copy(std::size_t to, const HnswRows& from, std::size_t slot);

    // Calls visit(buffer) for each stored array, in the order of the file.
    template <class Self, class Visit>
    static void each_buffer(Self& self, Visit visit) {
        visit(self.codes.codes);
        visit(self.codes.scales);
        visit(self.singles);
        visit(self.halves);
        visit(self.ids);
        visit(self.dead);
    }
};

}  // namespace fastrecall
