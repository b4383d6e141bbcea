// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
    .treatAllWarnings(as: .error),
]

/// A package of its own: nothing it needs reaches users of Fanfare.
let package = Package(
    name: "fanfare-benchmarks",
    products: [
        .executable(name: "fanfare-bench", targets: ["fanfare-bench"]),
        .library(name: "CallCounts", type: .dynamic, targets: ["CallCounts"]),
    ],
    targets: [
        // What the worker is measured against: libcurl and nothing else.
        .target(
            name: "CurlFloor",
            cSettings: [.unsafeFlags(["-O2", "-Wall", "-Wextra", "-Werror"])],
            linkerSettings: [.linkedLibrary("curl")]
        ),
        // Preloaded into a worker to count its calls. Nothing links it.
        .target(
            name: "CallCounts",
            // Without the builtins a compiler makes copies of its own where this library has to count them.
            cSettings: [.unsafeFlags(["-O2", "-fno-builtin", "-Wall", "-Wextra", "-Werror"])]
        ),
        .target(name: "CChild", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
        .target(name: "BenchKit", dependencies: ["CurlFloor", "CChild"], swiftSettings: strict),
        .executableTarget(name: "fanfare-bench", dependencies: ["BenchKit"], swiftSettings: strict),
        .testTarget(name: "BenchKitTests", dependencies: ["BenchKit"], swiftSettings: strict),
    ]
)
