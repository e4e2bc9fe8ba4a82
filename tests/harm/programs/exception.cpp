// exception [fatal]   Exceptions through I/O, threads and C code; `fatal`: one that nobody catches.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int throws_when_equal(const void *a, const void *b)
{
    int x = *static_cast<const int *>(a), y = *static_cast<const int *>(b);
    if (x == y)
        throw std::runtime_error("equal");
    return x < y ? -1 : 1;
}

static int caught_in_thread(int number)
{
    int caught = 0;
    std::thread([&] {
        for (int i = 0; i < 500; i++) {
            try {
                std::ofstream out("thrown", std::ios::app);
                out.exceptions(std::ios::failbit);
                out << number << std::endl;
                throw number;
            } catch (int value) {
                caught += value == number;
            }
        }
    }).join();
    return caught;
}

int main(int argc, char **)
{
    std::vector<int> numbers{3, 1, 2, 3};
    try {
        qsort(numbers.data(), numbers.size(), sizeof(int), throws_when_equal);
    } catch (const std::exception &error) {
        std::cout << "from C: " << error.what() << '\n';
    }
    std::cout << caught_in_thread(7) << '\n';
    try {
        std::ifstream in("missing");
        in.exceptions(std::ios::failbit);
        std::string word;
        in >> word;
    } catch (const std::ios_base::failure &) {
        std::cout << "no such file" << std::endl;
    }
    if (argc > 1)
        throw std::logic_error("fatal");
}
