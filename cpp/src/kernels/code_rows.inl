// Products of coded rows, written once over operations of the file that includes this one (inside
// its unnamed namespace, after wide.inl's operations). Needed beside them:
//   I load_with(address): kWidth * 4 codes of the common row, ready for
//   I dot_with(sum, address, with): sum + products of the codes at `address` with those, exact
//   with_bias(row, width): what the products of one row are too high by
//   sum_4(sums, out): the lanes of each of four sums, added

void dot_code_rows(const std::uint8_t* codes, std::size_t width, const std::int32_t* rows,
                   std::size_t count, const std::uint8_t* with, std::int32_t* sums) {
    const std::int32_t bias = with_bias(with, width);
    for (std::size_t done = 0; done < count; done += 4) {
        const std::size_t left = count - done < 4 ? count - done : 4;
        const std::uint8_t* row[4];
        for (std::size_t r = 0; r < 4; ++r) {
            // Places past the end repeat the last row: its sum is not stored.
            const std::size_t place = done + (r < left ? r : left - 1);
            row[r] = codes + static_cast<std::size_t>(rows[place]) * width;
        }
        I sum0 = start_codes(0), sum1 = start_codes(0), sum2 = start_codes(0),
          sum3 = start_codes(0);
        for (std::size_t i = 0; i < width; i += kWidth * kCodeStep) {
            const I four = load_with(with + i);
            sum0 = dot_with(sum0, row[0] + i, four);
            sum1 = dot_with(sum1, row[1] + i, four);
            sum2 = dot_with(sum2, row[2] + i, four);
            sum3 = dot_with(sum3, row[3] + i, four);
        }
        std::int32_t out[4];
        sum_4(sum0, sum1, sum2, sum3, out);
        for (std::size_t r = 0; r < left; ++r) sums[done + r] = out[r] - bias;
    }
}
