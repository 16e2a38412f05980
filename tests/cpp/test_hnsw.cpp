#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "check.hpp"
#include "fastrecall/cpu.hpp"
#include "fastrecall/error.hpp"
#include "fastrecall/hnsw.hpp"
#include "fastrecall/kernels.hpp"

using namespace fastrecall;

namespace {

constexpr std::size_t kDim = 24;

std::vector<float> random_vectors(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count * kDim);
    for (float& value : values) value = normal(random);
    return values;
}

HnswOptions small(Storage storage) {
    HnswOptions options;
    options.dim = kDim;
    options.m = 6;
    options.ef_construction = 40;
    options.storage = storage;
    return options;
}

std::vector<std::uint8_t> saved(const Hnsw& index) {
    std::vector<std::uint8_t> bytes;
    index.save([&bytes](const void* data, std::size_t size) {
        const auto* part = static_cast<const std::uint8_t*>(data);
        bytes.insert(bytes.end(), part, part + size);
    });
    return bytes;
}

std::vector<std::int32_t> found(const Hnsw& index, const std::vector<float>& queries,
                                unsigned threads) {
    const std::size_t count = queries.size() / kDim, k = 8;
    std::vector<std::int32_t> ids(count * k);
    std::vector<float> scores(count * k);
    const std::int32_t ef = 30;
    index.search({queries.data(), count, kDim}, {&ef, 1}, {}, {ids.data(), count, k},
                 {scores.data(), count, k}, {threads, {}});
    return ids;
}

}  // namespace

TEST(code_rows_agree_with_plain_sums_on_every_instruction_set) {
    std::mt19937 random(1);
    for (const std::size_t width : {std::size_t{64}, std::size_t{128}, std::size_t{384}}) {
        std::vector<std::uint8_t> codes(40 * width);
        for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(1 + random() % 255);
        // Rows of the outermost codes find sums that do not fit in 16 bits.
        std::fill_n(codes.begin(), width, std::uint8_t{1});
        std::fill_n(codes.begin() + static_cast<std::ptrdiff_t>(width), width, std::uint8_t{255});
        for (const std::string& isa : available_isas()) {
            const Kernels& kernel = *kernels_named(isa.c_str());
            for (std::size_t count = 0; count < 10; ++count) {
                std::vector<std::int32_t> rows(count), sums(count + 1, 77);
                for (std::size_t with = 0; with < 4; ++with) {
                    for (std::size_t i = 0; i < count; ++i) {
                        rows[i] = i < 2 ? static_cast<std::int32_t>(i)
                                        : static_cast<std::int32_t>(random() % 40);
                    }
                    const std::uint8_t* other = codes.data() + with * width;
                    kernel.dot_code_rows(codes.data(), width, rows.data(), count, other,
                                         sums.data());
                    for (std::size_t i = 0; i < count; ++i) {
                        const std::uint8_t* row =
                            codes.data() + static_cast<std::size_t>(rows[i]) * width;
                        std::int32_t sum = 0;
                        for (std::size_t j = 0; j < width; ++j) {
                            sum += (row[j] - kCodeBias) * (other[j] - kCodeBias);
                        }
                        CHECK(sums[i] == sum);
                    }
                    CHECK(sums[count] == 77);
                }
            }
        }
    }
}

TEST(an_index_is_the_same_on_any_number_of_threads) {
    const std::vector<float> vectors = random_vectors(2500, 2), queries = random_vectors(40, 3);
    for (const Storage storage : {Storage::int8, Storage::float16, Storage::float32}) {
        std::vector<std::vector<std::uint8_t>> files;
        for (const unsigned threads : {1U, 2U, 7U}) {
            Hnsw index(small(storage));
            index.add({vectors.data(), 2500, kDim}, {}, {threads, {}});
            files.push_back(saved(index));
            CHECK(found(index, queries, threads) == found(index, queries, 1));
        }
        CHECK(files[0] == files[1]);
        CHECK(files[0] == files[2]);
    }
}

TEST(an_index_lives_through_deletion_compaction_and_files) {
    const std::vector<float> vectors = random_vectors(1500, 4), queries = random_vectors(40, 5);
    Hnsw index(small(Storage::float16));
    index.add({vectors.data(), 1500, kDim}, {}, {2, {}});
    std::vector<std::int32_t> gone;
    for (std::int32_t id = 0; id < 1500; id += 3) gone.push_back(id);
    index.remove({gone.data(), gone.size()});
    CHECK_THROWS(index.remove({gone.data(), 1}), InputError);
    for (int round = 0; round < 2; ++round) {
        for (const std::int32_t id : found(index, queries, 3)) CHECK(id > 0 && id % 3 != 0);
        const std::vector<std::uint8_t> file = saved(index);
        const auto loaded = Hnsw::load({file.data(), file.size()}, "file", {2, {}});
        CHECK(found(*loaded, queries, 2) == found(index, queries, 1));
        loaded->add({vectors.data(), 10, kDim}, {}, {2, {}});
        CHECK(loaded->size() == index.size() + 10);
        index.compact({2, {}});
    }
    CHECK(index.size() == 1000 && index.deleted() == 0);
}

TEST(an_interrupted_addition_leaves_whole_rounds) {
    const std::vector<float> vectors = random_vectors(5000, 6), queries = random_vectors(20, 7);
    Hnsw index(small(Storage::float32));
    int asked = 0;
    const Execution execution{2, [&asked] { return ++asked > 200; }};
    CHECK_THROWS(index.add({vectors.data(), 5000, kDim}, {}, execution), Interrupted);
    CHECK(index.size() < 5000 && index.size() % 1024 == 0);
    for (const std::int32_t id : found(index, queries, 1)) {
        CHECK(id < static_cast<std::int32_t>(index.size()));
    }
    const std::size_t kept = index.size();
    index.add({vectors.data() + kept * kDim, 5000 - kept, kDim}, {}, {2, {}});
    Hnsw whole(small(Storage::float32));
    whole.add({vectors.data(), 5000, kDim}, {}, {2, {}});
    CHECK(saved(index) == saved(whole));
}

TEST(damaged_files_are_refused) {
    const std::vector<float> vectors = random_vectors(60, 8);
    Hnsw index(small(Storage::int8));
    index.add({vectors.data(), 60, kDim}, {}, {});
    const std::vector<std::uint8_t> file = saved(index);
    for (std::size_t place = 0; place < file.size(); ++place) {
        std::vector<std::uint8_t> other = file;
        other[place] = static_cast<std::uint8_t>(other[place] ^ (1U << (place % 8)));
        CHECK_THROWS(Hnsw::load({other.data(), other.size()}, "file", {}), InputError);
    }
    for (std::size_t length = 0; length < file.size(); length += 7) {
        const std::vector<std::uint8_t> other(file.begin(),
                                              file.begin() + static_cast<std::ptrdiff_t>(length));
        CHECK_THROWS(Hnsw::load({other.data(), other.size()}, "file", {}), InputError);
    }
}

TEST(searches_and_changes_at_once) {
    const std::vector<float> vectors = random_vectors(800, 9), queries = random_vectors(10, 10);
    Hnsw index(small(Storage::int8));
    index.add({vectors.data(), 400, kDim}, {}, {2, {}});
    std::vector<std::thread> others;
    for (int other = 0; other < 3; ++other) {
        others.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                const std::vector<std::int32_t> ids = found(index, queries, 2);
                CHECK(std::find(ids.begin(), ids.end(), -1) == ids.end());
            }
        });
    }
    for (std::int32_t id = 0; id < 40; ++id) {
        index.add({vectors.data() + (400 + static_cast<std::size_t>(id)) * kDim, 1, kDim}, {}, {});
        index.remove({&id, 1});
    }
    index.compact({2, {}});
    for (std::thread& other : others) other.join();
    CHECK(index.size() == 400);
}
