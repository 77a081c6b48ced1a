"""Terms of school physics: the words of each topic, concept and technique."""

from __future__ import annotations

import re
from typing import Final

# topic, subtopic, pattern of its words
TOPICS: Final = (
    ("Kinematics", "Projectile motion", r"projectile|thrown|trajectory|time of flight|angle of projection"),
    ("Kinematics", "Motion along a line", r"accelerat\w+|velocity|displacement|retardation|uniform speed"),
    ("Kinematics", "Relative motion", r"relative velocity|river|swimmer|relative to"),
    ("Laws of motion", "Friction", r"friction|rough|coefficient of (?:static|kinetic)"),
    ("Laws of motion", "Force and acceleration", r"net force|horizontal force|newton'?s|pulley|crate|tension|lift|pulled"),
    ("Laws of motion", "Inclined plane", r"incline[ds]?|slope|wedge"),
    ("Circular motion", "Uniform circular motion", r"circular|centripetal|whirled|banked|circle at constant speed"),
    ("Work, energy and power", "Energy and work", r"kinetic energy|potential energy|work done|energy|power|braking|brakes"),
    ("Momentum", "Collisions", r"collid\w+|collision|momentum|impulse|restitution|recoil|stick together"),
    ("Rotational mechanics", "Rotation about a fixed axis", r"moment of inertia|torque|flywheel|angular (?:momentum|velocity|acceleration)|rolling|rolls"),
    ("Gravitation", "Gravitational field", r"gravitation\w*|satellite|planet|orbit|escape (?:speed|velocity)|kepler"),
    ("Oscillations", "Simple harmonic motion", r"oscillat\w+|harmonic|pendulum|spring|angular frequency|amplitude"),
    ("Waves", "Waves on strings and sound", r"wave|wavelength|standing|beats|doppler|sound|organ pipe|sonometer"),
    ("Fluids", "Hydrostatics and flow", r"fluid|liquid|buoyan\w+|bernoulli|viscosity|surface tension|density|barometer"),
    ("Elasticity", "Stress and strain", r"young'?s modulus|stress|strain|elastic|bulk modulus"),
    ("Thermodynamics", "Heat and gases", r"heat|temperature|gas|isothermal|adiabatic|entropy|carnot|specific heat|calorimeter|kelvin"),
    ("Electrostatics", "Charges and fields", r"charge[ds]?|electric field|coulomb|dipole|gauss|potential difference"),
    ("Electrostatics", "Capacitors", r"capacit\w+|dielectric"),
    ("Current electricity", "Circuits", r"resist\w+|ohm|current|battery|circuit|emf|galvanometer|kirchhoff|ammeter|voltmeter"),
    ("Magnetism", "Fields and forces", r"magnetic|solenoid|lorentz|biot|ampere'?s law"),
    ("Electromagnetic induction", "Induced emf", r"induc\w+|flux|faraday|lenz|transformer|alternating"),
    ("Optics", "Rays", r"lens|mirror|refract\w+|focal|prism|image|ray"),
    ("Optics", "Interference and diffraction", r"interference|diffraction|fringe|slit|young'?s double|polari[sz]\w+"),
    ("Modern physics", "Photons, atoms and nuclei", r"photo\w*|photoelectric|nucle\w+|half[- ]life|radioactiv\w+|bohr|electron|x-ray|decay"),
    ("Units and measurements", "Units and dimensions", r"dimension\w*|unit|significant figures|vernier|least count|screw gauge"),
)  # fmt: skip

CONCEPTS: Final = (
    ("Newton's second law", r"net force|F = m a|\\frac\{F\}\{m\}|newton'?s second"),
    ("conservation of energy", r"energy is (?:kept|conserved)|conservation of (?:mechanical )?energy|m ?g ?h\s*="),
    ("work and kinetic energy", r"work of|work done|work[- ]energy|kinetic energy"),
    ("conservation of momentum", r"momentum is (?:kept|conserved)|conservation of (?:linear )?momentum|m_1 ?v_1"),
    ("angular momentum", r"angular momentum"),
    ("uniformly accelerated motion", r"u\^2|a ?t\b|\\frac\{v\^2\}\{2 ?[ag]\}|\\frac\{1\}\{2\} ?(?:a|g) ?t\^2|uniform(?:ly)? accelerat"),
    ("rotational kinetic energy", r"I ?\\omega\^2|moment of inertia"),
    ("simple harmonic motion", r"\\sqrt\{\\frac\{k\}\{m\}\}|harmonic|oscillat|pendulum"),
    ("centripetal acceleration", r"centripetal|\\frac\{m ?v\^2\}\{r\}|\\frac\{v\^2\}\{r\}"),
    ("friction", r"friction|\\mu"),
    ("free fall", r"free fall|thrown|highest point|gravity"),
    ("tension in a string or cable", r"tension"),
    ("Ohm's law", r"ohm|I ?R\b|\\frac\{V\}\{R\}"),
    ("electric charge and Coulomb's law", r"coulomb|charge"),
    ("capacitance", r"capacit"),
    ("magnetic force", r"magnetic|q ?v ?B"),
    ("electromagnetic induction", r"induc|flux|faraday"),
    ("refraction", r"refract|n_1|snell"),
    ("image formation", r"focal|\\frac\{1\}\{f\}|lens|mirror"),
    ("interference", r"fringe|interference"),
    ("ideal gas law", r"n ?R ?T|ideal gas|P ?V\b"),
    ("first law of thermodynamics", r"first law|adiabatic|isothermal|internal energy"),
    ("heat and temperature change", r"specific heat|calorimet|heat"),
    ("buoyancy", r"buoyan|archimedes"),
    ("photoelectric effect", r"photoelectric|work function"),
    ("radioactive decay", r"half[- ]life|radioactiv|decay"),
    ("units of physical quantities", r"\bunits?\b|dimension"),
)  # fmt: skip

TECHNIQUES: Final = (
    ("differentiating", r"\\frac\{d|\\dot|derivative|differentiat"),
    ("integrating", r"\\int|integrat"),
    ("taking components", r"\\sin|\\cos|component|resolv"),
    ("comparing states before and after", r"before and after|afterwards|initial|final|conserv|\bis kept\b"),
    ("taking a root", r"\\sqrt"),
    ("substituting numbers into a formula", r"=\s*(?:\\[a-z]+\{)*\d[^=$]{0,80}="),
    ("judging each statement by itself", r"correct options? (?:is|are)"),
    ("reasoning from definitions", r"."),
)  # fmt: skip


def counted(pattern: str, text: str) -> int:
    """How many different words of the text match the pattern."""
    found = re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    return len({one.group().lower() for one in found})


def found_in(table: tuple[tuple[str, str], ...], text: str) -> tuple[str, ...]:
    """The names whose pattern matches the text, in the table's order."""
    return tuple(name for name, pattern in table if re.search(pattern, text, re.IGNORECASE))
